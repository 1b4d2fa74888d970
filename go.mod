module github.com/petrock/petrock

go 1.26.0

require golang.org/x/tools v0.52.0
