module github.com/petrock/petrock

go 1.26
