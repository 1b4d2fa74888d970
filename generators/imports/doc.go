// Package imports adds to a Go file of a project the imports that it lacks. Packages are sought in
// the standard library, in the project, and in the modules that its go.mod requires, and nowhere
// else: nothing is downloaded, and go.mod stays as it is.
//
// What is wanted are names in front of a dot that nothing declares, such as strings in
// strings.ToUpper. A package fits if it is called so and exports all that the file wants of it. If
// several fit, the first of these is taken:
//
//  1. what other files of the same package import under that name, and for a test that stands
//     outside of its package, that package;
//  2. a package of the standard library;
//  3. one of the project that may be imported;
//  4. one of a required module, those that go.mod requires directly first, then those that the
//     project imports elsewhere.
//
// Among those that are equal so far, the one with fewer words in its path is taken, then the newer
// version, then the first of the alphabet. For a few names custom decides instead, such as
// text/template before html/template.
package imports
