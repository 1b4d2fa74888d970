package project

import "strings"

// Variable is the environment variable of a program for something: that of my-server for data is MY_SERVER_DATA.
func Variable(program, what string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z':
			return r - 'a' + 'A'
		case 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
			return r
		}
		return '_'
	}, program+"_"+what)
}
