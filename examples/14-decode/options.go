package main

import (
	"errors"
	"flag"
	"fmt"
	"strconv"
	"strings"
)

// options holds the values of the flags. A zero selects a default, which depends on the device.
type options struct {
	file, save  string
	shape       config
	seed        uint64
	prompt      []int32
	tokens      int
	checked     int
	temperature float64
	bars        bool
}

func flags() *options {
	o := &options{prompt: []int32{1}}
	flag.StringVar(&o.file, "weights", "", "a safetensors `file` with a model of the Llama family")
	flag.StringVar(&o.save, "save", "", "write the weights to a safetensors `file`")
	flag.IntVar(&o.shape.dim, "dim", 0, "length of the vectors; 0: 256 on a GPU")
	flag.IntVar(&o.shape.layers, "layers", 0, "number of layers; 0: 12 on a GPU")
	flag.IntVar(&o.shape.heads, "heads", 0, "number of heads; with -weights needed if the file does not say it")
	flag.IntVar(&o.shape.hidden, "hidden", 0, "length of the vectors inside a layer; 0: 512 on a GPU")
	flag.IntVar(&o.shape.vocabulary, "vocabulary", 0, "number of tokens; 0: 1,024 on a GPU")
	flag.Float64Var(&o.shape.base, "base", 0, "of the position embedding's frequencies; 0: 10,000, or what the file says")
	flag.Float64Var(&o.shape.epsilon, "epsilon", 0, "of the norms; 0: 1e-5, or what the file says")
	flag.Uint64Var(&o.seed, "seed", 1, "of the weights and of the samples")
	flag.Func("prompt", "the first tokens, as `numbers` (1,2,3)", func(s string) (err error) { o.prompt, err = numbers(s); return })
	flag.IntVar(&o.tokens, "tokens", 0, "length of the sequence; 0: 256 on a GPU")
	flag.IntVar(&o.checked, "check", -1, "tokens whose logits are compared with the reference; -1: all, or 4 of a file's")
	flag.Float64Var(&o.temperature, "temperature", 0.8, "of the samples; 0: the most likely token")
	flag.BoolVar(&o.bars, "bench", false, "fail unless the graph makes enough of a difference on a GPU")
	return o
}

func numbers(s string) (list []int32, err error) {
	for _, word := range strings.Split(s, ",") {
		n, err := strconv.ParseInt(strings.TrimSpace(word), 10, 32)
		if err != nil {
			return nil, err
		}
		list = append(list, int32(n))
	}
	return list, nil
}

// load returns the weights, and saves them if -save is given.
func (o options) load(emulated bool) (*weights, error) {
	w, err := o.weights(emulated)
	if err == nil && o.save != "" {
		err = w.save(o.save)
	}
	return w, err
}

// weights reads the weights from a file, or generates them.
func (o options) weights(emulated bool) (*weights, error) {
	if o.file != "" {
		return readWeights(o.file, o.shape)
	}
	c := launchBound
	if emulated {
		c = small
	}
	c = c.with(o.shape)
	if err := c.check(); err != nil {
		return nil, err
	}
	return newWeights(c, o.seed), nil
}

func (o *options) complete(emulated bool) {
	if o.tokens == 0 {
		o.tokens = 256
		if emulated {
			o.tokens = 8
		}
	}
	if o.checked < 0 {
		o.checked = o.tokens
		if o.file != "" {
			o.checked = 4
		}
	}
}

func (o options) check(w *weights, emulated bool) error {
	if o.bars && emulated {
		return errors.New("-bench: the emulator's times say nothing about a GPU")
	}
	if o.tokens < 1 || len(o.prompt) < 1 || len(o.prompt) > o.tokens {
		return fmt.Errorf("a sequence of %d tokens cannot begin with a prompt of %d", o.tokens, len(o.prompt))
	}
	if !(o.temperature >= 0) {
		return errors.New("-temperature must not be negative")
	}
	for _, t := range o.prompt {
		if t < 0 || int(t) >= w.vocabulary {
			return fmt.Errorf("token %d of the prompt is none of the %d", t, w.vocabulary)
		}
	}
	return nil
}
