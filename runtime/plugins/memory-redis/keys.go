// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memoryredis

// keys names what the bot keeps on the server. A message is a field of its session's hash, by a number that grows with
// each message of the bot; sorted sets order the numbers.
type keys struct{ prefix string }

// sequence counts messages.
func (k keys) sequence() string { return k.prefix + "sequence" }

// sessions is the set of the sessions that have messages.
func (k keys) sessions() string { return k.prefix + "sessions" }

// namespaces is the set of the namespaces that have metadata.
func (k keys) namespaces() string { return k.prefix + "namespaces" }

// recent orders what is not archived, across sessions, by timestamp. Members are number, colon, session.
func (k keys) recent() string { return k.prefix + "recent" }

// messages of a session: JSON by number.
func (k keys) messages(session string) string { return k.prefix + "messages:" + session }

// all orders the numbers of a session.
func (k keys) all(session string) string { return k.prefix + "all:" + session }

// live orders the numbers of what is not archived.
func (k keys) live(session string) string { return k.prefix + "live:" + session }

// times orders the numbers of a session by timestamp.
func (k keys) times(session string) string { return k.prefix + "times:" + session }

// metadata of a namespace: updatedAt, a blank and JSON, by key.
func (k keys) metadata(namespace string) string { return k.prefix + "metadata:" + namespace }

// token remembers what a change came to, for one that is repeated.
func (k keys) token(t string) string { return k.prefix + "token:" + t }

// session lists the keys of a session in the order in which scripts use them, after the token.
func (k keys) session(id string) []string {
	return []string{k.sequence(), k.sessions(), k.recent(), k.messages(id), k.all(id), k.live(id), k.times(id)}
}
