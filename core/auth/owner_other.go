//go:build !unix

package auth

import "os"

func copyOwner(*os.File, string) error { return nil }
