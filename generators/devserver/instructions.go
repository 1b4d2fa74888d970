package devserver

// instructions tell a model how to work here.
func (t *Tools) instructions() string {
	text := `Petrock makes and grows MCP servers in Go. Working order:
1. project_status: which project is there, does it compile, what does it offer. dir names one below where this server was started; without it, it is the one made last, or the one around.`
	if t.options.CanMake {
		text += ` new_project makes one where there is none.`
	}
	text += `
2. generate_tool with description, fields, output, body and examples: one call gives a finished, tested tool. It is compiled and its examples are run first; if something is wrong, nothing is written, and the answer says where. generate_resource and generate_prompt likewise. What has to be kept is a feature: generate_feature with crud makes one, generate_command, generate_query and generate_worker add to it. Fields of a command that has stored events change with generate_version. plan shows what would be written, apply writes exactly that.`
	if !t.options.NoExec {
		text += `
3. call runs what was made in the real server at once: the tools that a project makes are not in this list.`
	}
	text += `
4. undo takes the last operation back. Editing Go files by hand is fine: run build afterwards, which derives schemas and registration again and compiles.
Never edit *_gen.go files. petrock://docs/tools, /features, /fields, /directives, /testing and /generators say how to write what a generator cannot.`
	return text
}
