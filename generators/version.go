package generators

// Version is the version of petrock that these generators are of. A project keeps those that
// it was made with.
const Version = "0.2.0"
