// Package exports knows what the go command knows of the packages that a project imports from
// outside: for which system they are built, and where the compiler has written down what they
// export. It asks once, and keeps the answer, in memory and in the project's .petrock folder, for
// as long as it holds.
package exports
