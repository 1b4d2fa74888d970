// Package apptest lets a test talk to features as a client would, on a log in memory.
//
//	client := apptest.Serve(t, posts.Feature())
//	client.Given("posts_create", `{"title":"Hello"}`)
//	client.CheckTool(t, "posts_get", mcptest.Example{Input: `{"id":"id1"}`, Output: `{"id":"id1","title":"Hello"}`})
//
// When the test ends, its log is replayed, and every way to do so has to lead to the state that the test left.
package apptest
