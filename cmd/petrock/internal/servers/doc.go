// Package fleet speaks to several MCP servers at once, those of a configuration file as a rule.
//
//	all := fleet.Start(ctx, config.Servers(), fleet.Options{})
//	defer all.Close()
//	for m := range all.Settled(ctx) { // as they come
//		tools, err := m.Tools(ctx)
//		…
//	}
//
// All are started at once, and none waits for another: one that cannot be started, that never answers or that ends in the
// handshake is a [Member] with an error, and the rest is as good as if it were not there.
package servers
