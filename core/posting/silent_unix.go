//go:build unix

package posting

import (
	"net"
	"syscall"
)

// Supported reports whether connections are used again on this system. Where they are not, net/http does better.
const Supported = true

// silent reports whether the other end of a connection that waits has neither closed it nor said anything: whether it can be used again.
func silent(c net.Conn) bool {
	raw, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	socket, err := raw.SyscallConn()
	if err != nil {
		return false
	}
	quiet := false
	err = socket.Read(func(fd uintptr) bool {
		var some [1]byte
		_, err := syscall.Read(int(fd), some[:]) // which does not wait
		quiet = err == syscall.EAGAIN || err == syscall.EWOULDBLOCK
		return true
	})
	return err == nil && quiet
}
