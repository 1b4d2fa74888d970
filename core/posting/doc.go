// Package posting posts small requests to http addresses. net/http has two goroutines for each connection, and each call waits for both of them;
// here whoever posts writes and reads by itself, which takes two thirds of the time. What is read and written is left to net/http.
package posting
