package mcpconfig

// crush is Crush, which reads two files of a project.
func crush(file string) client {
	return client{
		name:   "Crush",
		file:   file,
		key:    "mcp",
		typed:  true,
		sparse: true,
		fields: []string{"timeout", "disabled", "disabled_tools", "enabled_tools"},
		expander: func(_ *source, w *world) expander {
			return func(text string, _ bool) (string, error) { return expandShell(text, w.getenv) }
		},
	}
}
