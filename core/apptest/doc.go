// Package apptest lets a test talk to features as a client would, on a log in memory.
//
//	client := apptest.Serve(t, posts.Feature())
//	client.Given("posts_create", posts.Create{Title: "Hello"})
//	client.CheckTool(t, "posts_get", mcptest.Example{Input: posts.Get{ID: "id1"}, Output: posts.Post{ID: "id1", Title: "Hello"}})
//
// When the test ends, its log is replayed, and every way to do so has to lead to the state that the test left.
package apptest
