// Command pluginhost opens the plugin and also uses CUDA itself.
//
//	pluginhost PATH [emulator]
package main

import (
	"errors"
	"fmt"
	"os"
	"plugin"

	"github.com/purecuda/cuda/tools/robust/work"
)

func main() {
	if err := run(os.Args[1], len(os.Args) > 2); err != nil {
		fmt.Fprintln(os.Stderr, "pluginhost:", err)
		os.Exit(1)
	}
	fmt.Println("plugin: it and its host work")
}

func run(path string, emulated bool) error {
	p, err := plugin.Open(path)
	if err != nil {
		return err
	}
	symbol, err := p.Lookup("Once")
	if err != nil {
		return err
	}
	once, ok := symbol.(func(bool) error)
	if !ok {
		return fmt.Errorf("Once is a %T", symbol)
	}
	return errors.Join(once(emulated), work.Once(emulated), once(emulated))
}
