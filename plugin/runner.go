package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin/runner"
)

// child is a plugin that this host starts, for go-plugin, which has a directory
// for sockets only if the host brings a runner of its own.
type child struct {
	cmd    *exec.Cmd
	dir    *socketDir
	stdout io.ReadCloser
	stderr *said // nil before prepare
}

// prepare is a function for go-plugin's ClientConfig.RunnerFunc. Of spec only
// environment and standard input count.
func (c *child) prepare(_ hclog.Logger, spec *exec.Cmd, dir string) (_ runner.Runner, err error) {
	if c.dir, err = enter(dir); err != nil {
		return nil, err
	}
	c.cmd.Env, c.cmd.Stdin = append(c.cmd.Env, spec.Env...), spec.Stdin
	if c.stdout, err = c.cmd.StdoutPipe(); err == nil {
		var stderr io.ReadCloser
		if stderr, err = c.cmd.StderrPipe(); err == nil {
			c.stderr = newSaid(stderr)
		}
	}
	if err != nil {
		c.dir.leave()
		return nil, err
	}
	return c, nil
}

// Start implements runner.Runner.
func (c *child) Start(context.Context) error {
	err := c.cmd.Start()
	if err != nil {
		c.dir.leave()
	}
	return err
}

// Wait implements runner.Runner. However the plugin ended, its sockets are gone
// afterwards.
func (c *child) Wait(context.Context) error {
	defer c.dir.leave()
	return c.cmd.Wait()
}

// Kill implements runner.Runner.
func (c *child) Kill(context.Context) error {
	if err := c.cmd.Process.Kill(); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// ID implements runner.Runner. It is "" before the plugin was started.
func (c *child) ID() string {
	if c.cmd.Process == nil {
		return ""
	}
	return strconv.Itoa(c.cmd.Process.Pid)
}

// explain adds what the plugin said to the error of a start that failed.
func (c *child) explain(err error) error {
	if c.stderr == nil || c.cmd.Process == nil {
		return err
	}
	sentence := c.stderr.sentence()
	if sentence == "" {
		return fmt.Errorf("%s did not start as a plugin; is it sfcore, with the argument \"plugin\"? %w", c.cmd.Path, err)
	}
	return fmt.Errorf("%s did not start as a plugin; it says: %s", c.cmd.Path, sentence)
}

// Stdout implements runner.Runner.
func (c *child) Stdout() io.ReadCloser { return c.stdout }

// Stderr implements runner.Runner.
func (c *child) Stderr() io.ReadCloser { return c.stderr }

// Name implements runner.Runner.
func (c *child) Name() string { return c.cmd.Path }

// Diagnose implements runner.Runner. explain says more.
func (*child) Diagnose(context.Context) string { return "" }

// PluginToHost implements runner.Runner.
func (*child) PluginToHost(network, addr string) (hostNet, hostAddr string, err error) {
	return network, addr, nil
}

// HostToPlugin implements runner.Runner.
func (*child) HostToPlugin(network, addr string) (pluginNet, pluginAddr string, err error) {
	return network, addr, nil
}
