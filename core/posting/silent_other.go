//go:build !unix

package posting

import "net"

// Supported reports whether connections are used again on this system. Where they are not, net/http does better.
const Supported = false

// silent reports whether a connection that waits can be used again, which nobody knows here.
func silent(net.Conn) bool { return false }
