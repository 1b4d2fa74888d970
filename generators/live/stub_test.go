package live

func testProgram(path, text string) program { return program{path: path, id: text} }
