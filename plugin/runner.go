package plugin

import (
	"context"
	"errors"
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
	cmd            *exec.Cmd
	dir            *socketDir
	stdout, stderr io.ReadCloser
}

// prepare is a function for go-plugin's ClientConfig.RunnerFunc. Of spec only
// environment and standard input count.
func (c *child) prepare(_ hclog.Logger, spec *exec.Cmd, dir string) (_ runner.Runner, err error) {
	if c.dir, err = enter(dir); err != nil {
		return nil, err
	}
	c.cmd.Env, c.cmd.Stdin = append(c.cmd.Env, spec.Env...), spec.Stdin
	if c.stdout, err = c.cmd.StdoutPipe(); err == nil {
		c.stderr, err = c.cmd.StderrPipe()
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

// Stdout implements runner.Runner.
func (c *child) Stdout() io.ReadCloser { return c.stdout }

// Stderr implements runner.Runner.
func (c *child) Stderr() io.ReadCloser { return c.stderr }

// Name implements runner.Runner.
func (c *child) Name() string { return c.cmd.Path }

// Diagnose implements runner.Runner.
func (c *child) Diagnose(context.Context) string {
	return c.cmd.Path + " did not answer as a plugin does; is it sfcore, with the argument \"plugin\"?"
}

// PluginToHost implements runner.Runner.
func (*child) PluginToHost(network, addr string) (hostNet, hostAddr string, err error) {
	return network, addr, nil
}

// HostToPlugin implements runner.Runner.
func (*child) HostToPlugin(network, addr string) (pluginNet, pluginAddr string, err error) {
	return network, addr, nil
}
