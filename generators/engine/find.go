package engine

import (
	"fmt"
	"go/types"
	"slices"
	"strings"
)

// find returns the function or method that a reference names in a package.
func find(ref reference, pkg *types.Package) (types.Object, error) {
	name := ref.call[0]
	object := pkg.Scope().Lookup(name)
	switch {
	case object == nil:
		return nil, absent(ref, pkg)
	case !object.Exported():
		return nil, fmt.Errorf("%q: %s is not exported, so the tools cannot call it; begin its name with a capital", ref, name)
	}
	if _, is := object.(*types.TypeName); is {
		return nil, fmt.Errorf("%q: %s is a type, and methods are called on variables; name a variable of the package, ./folder.Variable.Method, or write a function that makes a %[2]s and calls the method", ref, name)
	}
	if len(ref.call) == 1 {
		if isFunction(object) {
			return object, nil
		}
		if methods := methodsOf(ref, object); len(methods) > 0 {
			return nil, fmt.Errorf("%q: %s is no function; name one of its methods: %s", ref, name, few(methods))
		}
		return nil, fmt.Errorf("%q: %s is no function, and has no methods; %s", ref, name, offer(ref, pkg))
	}
	_, addressable := object.(*types.Var)
	method, _, _ := types.LookupFieldOrMethod(object.Type(), addressable, pkg, ref.call[1])
	if method != nil && method.Exported() && isFunction(method) {
		return method, nil
	}
	if methods := methodsOf(ref, object); len(methods) > 0 {
		return nil, fmt.Errorf("%q: %s has no exported method %s that can be called on it; it has %s", ref, name, ref.call[1], few(methods))
	}
	return nil, fmt.Errorf("%q: %s has no exported method at all that can be called on it; %s", ref, name, offer(ref, pkg))
}

// isFunction reports whether an object has a function type.
func isFunction(object types.Object) bool {
	_, is := object.Type().Underlying().(*types.Signature)
	return is
}

// absent reports that a package does not declare what a reference names, and suggests what it has.
func absent(ref reference, pkg *types.Package) error {
	for _, name := range pkg.Scope().Names() {
		if strings.EqualFold(name, ref.call[0]) && pkg.Scope().Lookup(name).Exported() {
			meant := reference{ref.dir, append([]string{name}, ref.call[1:]...)}
			return fmt.Errorf("%q: there is no %s; is %s meant?", ref, ref.call[0], meant)
		}
	}
	return fmt.Errorf("%q: there is no %s; %s", ref, ref.call[0], offer(ref, pkg))
}

// offer lists the functions and methods of a package that a reference can name.
func offer(ref reference, pkg *types.Package) string {
	var found []string
	for _, name := range pkg.Scope().Names() {
		object := pkg.Scope().Lookup(name)
		if _, is := object.(*types.TypeName); is || !object.Exported() {
			continue
		}
		if isFunction(object) {
			found = append(found, reference{ref.dir, []string{name}}.String())
		} else {
			found = append(found, methodsOf(ref, object)...)
		}
	}
	if len(found) == 0 {
		return "the package has no exported function at all: write one"
	}
	return "the package has " + few(found)
}

// methodsOf returns references to the methods of a variable or a constant.
func methodsOf(ref reference, object types.Object) []string {
	t := object.Type()
	_, pointer := t.Underlying().(*types.Pointer)
	if _, is := object.(*types.Var); is && !pointer && !types.IsInterface(t) {
		t = types.NewPointer(t)
	}
	var found []string
	for method := range types.NewMethodSet(t).Methods() {
		if method.Obj().Exported() {
			found = append(found, reference{ref.dir, []string{object.Name(), method.Obj().Name()}}.String())
		}
	}
	slices.Sort(found)
	return found
}
