// Package web puts a server on HTTP: it listens, looks who may come in and from where, and ends in order.
//
// A request is looked at in this order: the Host and the Origin (403), the path (404), who makes it (401), and
// then the handler has it. On a loopback address, where browsers of the same machine can be made to call by pages from
// anywhere, the Host has to be one of this machine or one that is listed, and so has the Origin, if there is one. Elsewhere any
// Host will do, and an Origin has to be listed, or that of the Host, which has to be listed itself where there is no gate. An origin
// that is let in is answered as CORS wants it. Cookies play no part.
//
// What is listened on and is no loopback address needs a gate, or the word that TLS and identity are handled
// in front. There is no TLS here: what stands in front has it.
//
// The limits of net/http apply: a header that is too large is answered with 431, one that takes too long ends the connection. A
// body that takes too long ends in an error for the handler that reads it, [os.ErrDeadlineExceeded]. An answer may take
// as long as it likes. The protocol is HTTP/1.1.
package web
