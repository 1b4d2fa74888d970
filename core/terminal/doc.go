// Package terminal holds what command lines share, whatever they are made with: what wrong
// usage is, which status a program ends with, and whether anyone is looking.
package terminal
