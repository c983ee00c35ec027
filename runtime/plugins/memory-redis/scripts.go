// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memoryredis

import "github.com/redis/go-redis/v9"

// once begins each script that must not happen twice: if the token of the call is there, the script already ran and its
// result is given again. KEYS[1] is the token.
const once = `
local ran = redis.call('GET', KEYS[1])
if ran then return tonumber(ran) end
local function done(n)
  redis.call('SET', KEYS[1], n, 'EX', 600)
  return n
end
local function number(id) return string.format('%016d', id) end
`

// session names the keys of the session scripts. ARGV[1] is the session.
const session = once + `
local sequence, sessions, recent, messages, all, live, times = unpack(KEYS, 2)
local session = ARGV[1]
local function forget(id)
  redis.call('HDEL', messages, id)
  redis.call('ZREM', all, id)
  redis.call('ZREM', live, id)
  redis.call('ZREM', times, id)
  redis.call('ZREM', recent, id .. ':' .. session)
end
local function archive(n)
  local ids = redis.call('ZRANGE', live, 0, n - 1)
  for _, id in ipairs(ids) do
    redis.call('ZREM', live, id)
    redis.call('ZREM', recent, id .. ':' .. session)
  end
  return #ids
end
`

// The scripts. Numbers are padded, so that members of one score are in order too.
var (
	// saveScript appends messages: ARGV is the session and then timestamp and JSON of each.
	saveScript = redis.NewScript(session + `
for i = 2, #ARGV, 2 do
  local id = number(redis.call('INCR', sequence))
  redis.call('HSET', messages, id, ARGV[i + 1])
  redis.call('ZADD', all, id, id)
  redis.call('ZADD', live, id, id)
  redis.call('ZADD', times, ARGV[i], id)
  redis.call('ZADD', recent, ARGV[i], id .. ':' .. session)
end
redis.call('SADD', sessions, session)
return done((#ARGV - 1) / 2)`)

	// trimScript archives all but the newest ARGV[2].
	trimScript = redis.NewScript(session + `
local n = redis.call('ZCARD', live) - tonumber(ARGV[2])
if n <= 0 then return done(0) end
return done(archive(n))`)

	// archiveScript archives the oldest ARGV[2].
	archiveScript = redis.NewScript(session + `
local n = tonumber(ARGV[2])
if n <= 0 then return done(0) end
return done(archive(n))`)

	// replaceScript puts ARGV[3], ARGV[5], ... in place of the messages ARGV[2], ARGV[4], ..., if they still are there.
	replaceScript = redis.NewScript(session + `
local n = 0
for i = 2, #ARGV, 2 do
  if redis.call('HEXISTS', messages, ARGV[i]) == 1 then
    redis.call('HSET', messages, ARGV[i], ARGV[i + 1])
    n = n + 1
  end
end
return done(n)`)

	// deleteScript removes the messages with the timestamps ARGV[2], ...
	deleteScript = redis.NewScript(session + `
local n = 0
for i = 2, #ARGV do
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', times, ARGV[i], ARGV[i])) do
    forget(id)
    n = n + 1
  end
end
if redis.call('ZCARD', all) == 0 then redis.call('SREM', sessions, session) end
return done(n)`)

	// clearScript removes a session.
	clearScript = redis.NewScript(session + `
for _, id in ipairs(redis.call('ZRANGE', live, 0, -1)) do
  redis.call('ZREM', recent, id .. ':' .. session)
end
redis.call('UNLINK', messages, all, live, times)
redis.call('SREM', sessions, session)
return done(1)`)

	// clearAllScript removes every session and every namespace that is not among ARGV[2], ... ARGV[1] is the prefix:
	// the keys are known by the index sets only, all of them on one node because of the prefix.
	clearAllScript = redis.NewScript(once + `
local sessions, recent, namespaces = unpack(KEYS, 2)
local prefix, state = ARGV[1], {}
for i = 2, #ARGV do state[ARGV[i]] = true end
for _, s in ipairs(redis.call('SMEMBERS', sessions)) do
  redis.call('UNLINK', prefix .. 'messages:' .. s, prefix .. 'all:' .. s, prefix .. 'live:' .. s, prefix .. 'times:' .. s)
end
redis.call('UNLINK', sessions, recent)
for _, n in ipairs(redis.call('SMEMBERS', namespaces)) do
  if not state[n] then
    redis.call('UNLINK', prefix .. 'metadata:' .. n)
    redis.call('SREM', namespaces, n)
  end
end
return done(1)`)

	// commitScript writes metadata: ARGV is the prefix, the time, and then namespace, key, 1 or 0 for a write or a
	// deletion, and JSON of each. updatedAt grows with each write.
	commitScript = redis.NewScript(once + `
local namespaces, prefix, now = KEYS[2], ARGV[1], tonumber(ARGV[2])
for i = 3, #ARGV, 4 do
  local hash = prefix .. 'metadata:' .. ARGV[i]
  if ARGV[i + 2] == '1' then
    local at, old = now, redis.call('HGET', hash, ARGV[i + 1])
    if old then at = math.max(at, tonumber(string.match(old, '^%d+')) + 1) end
    redis.call('HSET', hash, ARGV[i + 1], string.format('%d', at) .. ' ' .. ARGV[i + 3])
    redis.call('SADD', namespaces, ARGV[i])
  else
    redis.call('HDEL', hash, ARGV[i + 1])
    if redis.call('EXISTS', hash) == 0 then redis.call('SREM', namespaces, ARGV[i]) end
  end
end
return done(1)`)
)
