package expression

import (
	"fmt"
	"strings"
)

// Error says which part of an expression has no value, and why.
type Error struct {
	Part string // of the expression
	Msg  string
	Err  error // the cause, or nil
}

func (e *Error) Error() string {
	msg := e.Msg
	if e.Err != nil {
		msg = strings.TrimPrefix(msg+": "+e.Err.Error(), ": ")
	}
	if e.Part == "" {
		return msg
	}
	return e.Part + ": " + msg
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

type kind uint8

const (
	end kind = iota
	word
	integer
	float
	character
	text
	register
	operator
	fileName // 'a.c' before "::"
)

// token is a part of the text, from at on.
type token struct {
	kind kind
	text string
	at   int
}

// operators, the longer ones first.
var operators = []string{
	"<<=", ">>=", "...", "..=",
	"::", "->", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "..", "++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=",
	"+", "-", "*", "/", "%", "&", "|", "^", "!", "~", "<", ">", "=", "?", ":", "(", ")", "[", "]", "{", "}", ".", "@", ",", ";", "#",
}

func isLetter(c byte) bool {
	return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// scan returns the token at or behind an offset.
func scan(s string, at int) (token, error) {
	for at < len(s) && strings.IndexByte(" \t\r\n", s[at]) >= 0 {
		at++
	}
	if at == len(s) {
		return token{kind: end, at: at}, nil
	}
	c := s[at]
	n := at
	for n < len(s) && (isLetter(s[n]) || isDigit(s[n])) {
		n++
	}
	switch {
	case (c == 'b' || c == 'L' || c == 'u' || c == 'U') && at+1 < len(s) && (s[at+1] == '\'' || s[at+1] == '"'):
		t, err := quoted(s, at+1)
		t.at = at
		return t, err
	case isLetter(c):
		return token{word, s[at:n], at}, nil
	case isDigit(c), c == '.' && at+1 < len(s) && isDigit(s[at+1]):
		return number(s, at), nil
	case c == '$':
		n = at + 1
		for n < len(s) && (isLetter(s[n]) || isDigit(s[n])) {
			n++
		}
		return token{register, s[at+1 : n], at}, nil
	case c == '\'' || c == '"':
		return quoted(s, at)
	}
	for _, op := range operators {
		if strings.HasPrefix(s[at:], op) {
			return token{operator, op, at}, nil
		}
	}
	return token{}, &Error{Part: s[at:], Msg: fmt.Sprintf("%q is no part of an expression", string(rune(c)))}
}

// number scans a number with its suffix. "1..5" is a range, and "t.0.1" has two members.
func number(s string, at int) token {
	n, isFloat := at, false
	hex := strings.HasPrefix(s[at:], "0x") || strings.HasPrefix(s[at:], "0X")
	for n < len(s) {
		c := s[n]
		switch {
		case isDigit(c) || isLetter(c):
			isFloat = isFloat || !hex && c|0x20 == 'e' && n+1 < len(s) && (isDigit(s[n+1]) || s[n+1] == '-' || s[n+1] == '+')
		case (c == '-' || c == '+') && !hex && s[n-1]|0x20 == 'e' && n > at && isFloat:
		case c == '.' && !isFloat && !hex && (n+1 == len(s) || s[n+1] != '.' && !isLetter(s[n+1])):
			isFloat = true
		default:
			return token{numberKind(isFloat), s[at:n], at}
		}
		n++
	}
	return token{numberKind(isFloat), s[at:n], at}
}

func numberKind(isFloat bool) kind {
	if isFloat {
		return float
	}
	return integer
}

// quoted scans a string, a character, or the name of a file before "::". The text of
// its token has the quotes.
func quoted(s string, at int) (token, error) {
	q := s[at]
	n := at + 1
	for n < len(s) && s[n] != q {
		if s[n] == '\\' {
			n++
		}
		n++
	}
	if n >= len(s) {
		return token{}, &Error{Part: s[at:], Msg: fmt.Sprintf("the closing %c is missing", q)}
	}
	t := token{character, s[at : n+1], at}
	switch {
	case q == '"':
		t.kind = text
	case strings.HasPrefix(s[n+1:], "::"):
		t.kind = fileName
	}
	return t, nil
}
