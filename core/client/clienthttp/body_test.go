package clienthttp

import (
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
)

// A server cannot make the client allocate memory for a body that it does not send.
func TestReadBodyTrustsNoContentLength(t *testing.T) {
	resp := &http.Response{ContentLength: 64 << 20, Body: io.NopCloser(strings.NewReader(`{}`))}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	body, err := readBody(resp, 64<<20)
	runtime.ReadMemStats(&after)
	if string(body) != `{}` || err != nil {
		t.Errorf("the body is %q, %v; want {} and no error", body, err)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 16<<20 {
		t.Errorf("reading allocates %d bytes, want at most %d", n, 16<<20)
	}
}
