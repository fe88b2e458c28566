package dap

import (
	"context"
	"errors"
	"fmt"
	"strings"

	godap "github.com/google/go-dap"
)

// Numbers of errors, for clients. They never change.
const (
	idInternal   = 1000 // everything without a number of its own
	idArguments  = 1001 // arguments are missing or of the wrong type
	idCommand    = 1002 // there is no such request
	idState      = 1003 // not now: nothing is open, or something is already
	idLaunch     = 1004 // the configuration names no process, or several
	idOpen       = 1005 // the process cannot be opened
	idExecution  = 1006 // sfcore does not execute the process
	idReference  = 1007 // a frame, a variable, a source or a thread is not known
	idMemory     = 1008 // a memory reference is not valid
	idExpression = 1009 // an expression has no value
	idCancelled  = 1010
	idBusy       = 1011 // too many requests are waiting
)

// protocolError is an answer to a request that cannot be fulfilled: a sentence
// for the user.
type protocolError struct {
	id   int
	show bool // unasked, as a message of its own
	text string
}

func (e *protocolError) Error() string { return e.text }

var errCancelled = &protocolError{id: idCancelled, text: "the request was cancelled"}

func newError(id int, format string, args ...any) error {
	show := id == idLaunch || id == idOpen || id == idExecution
	return &protocolError{id: id, show: show, text: fmt.Sprintf(format, args...)}
}

// describe makes the protocol's form of an error. In a format braces stand for
// variables, so text with braces has to be one.
func describe(err error) *godap.ErrorMessage {
	m := &godap.ErrorMessage{Id: idInternal, Format: lines(err.Error())}
	if pe := (*protocolError)(nil); errors.As(err, &pe) {
		m.Id, m.ShowUser = pe.id, pe.show
	}
	if strings.ContainsAny(m.Format, "{}") {
		m.Variables = map[string]string{"text": m.Format}
		m.Format = "{text}"
	}
	return m
}

// cancelledOr returns errCancelled if ctx has ended, else err.
func cancelledOr(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errCancelled
	}
	return err
}
