// Copyright The Aalis Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memoryredis

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/redis/go-redis/v9"
)

const defaultPort = "6379"

// Config of the plugin.
type Config struct {
	// Address of the server.
	Address string `json:"address" label:"Address" required:"true" maxLength:"512" desc:"Where the Redis server is: host, host:port, redis://host:port, or rediss://host:port for TLS. The port is 6379 by default."`
	// Username for servers with ACLs.
	Username string `json:"username" label:"User" maxLength:"256" desc:"ACL user. Empty means the default user."`
	// Password of the user.
	Password string `json:"password" label:"Password" secret:"true" desc:"Password of the user. Empty means that the server asks for none."`
	// TLS to the server.
	TLS bool `json:"tls" label:"TLS" desc:"Speak TLS to the server, whose certificate must be valid for its host name."`
	// DB number.
	DB int `json:"db" label:"Database" min:"0" max:"1023" desc:"Number of the database on the server."`
}

// Default is the config of a bot that sets nothing.
func Default() Config { return Config{} }

// options are what the client needs to know.
func (c Config) options() (*redis.Options, error) {
	host, port, secure, err := splitAddress(c.Address)
	if err != nil {
		return nil, fmt.Errorf("config.address: %w, got %q", err, c.Address)
	}
	o := &redis.Options{Addr: net.JoinHostPort(host, port), Username: c.Username, Password: c.Password, DB: c.DB}
	if secure || c.TLS {
		o.TLSConfig = &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	}
	return o, nil
}

func splitAddress(address string) (host, port string, secure bool, err error) {
	address = strings.TrimSpace(address)
	if strings.Contains(address, "://") {
		u, err := url.Parse(address)
		switch {
		case err != nil:
			return "", "", false, errors.New("must be host:port or a URL as redis://host:port")
		case u.Scheme != "redis" && u.Scheme != "rediss":
			return "", "", false, errors.New("must begin with redis:// or rediss://")
		case u.User != nil:
			return "", "", false, errors.New("may not hold a user or password; use username and password")
		case u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "":
			return "", "", false, errors.New("may hold nothing after the port; use db for the database")
		}
		address, secure = u.Host, u.Scheme == "rediss"
	}
	host, port, err = net.SplitHostPort(address)
	if err != nil {
		host, port = strings.Trim(address, "[]"), defaultPort
	}
	if host == "" || port == "" || strings.ContainsAny(host, " /@") {
		return "", "", false, errors.New("must be host:port or a URL as redis://host:port")
	}
	return host, port, secure, nil
}
