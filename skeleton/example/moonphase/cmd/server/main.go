// The server offers the phase of the moon to MCP clients.
package main

import (
	"os"

	"github.com/petrock/petrock/core/serve"
)

func main() {
	os.Exit(serve.Main(serve.Config{
		Name: "moonphase",
		Wire: wire, // registers the tools, resources, prompts and features of this project

		// Instructions tell the client's model how to use the server as a whole.
		Instructions: "",

		// Defaults of the command serve. With KeysRequired it does not start without an API key.
		Addr:         "127.0.0.1:8181",
		KeysRequired: true,

		// The version comes from build information, unless it is set here.
		// Version: "1.0.0",
	}))
}
