package jsonstream

// state is a state of [Items].
type state uint8

const (
	wantValue state = iota
	wantValueOrEnd
	wantKey
	wantKeyOrEnd
	wantColon
	afterValue
	afterAll
	inString
	inKey
	inEscape
	inHex
	inLiteral
	numberMinus
	numberZero
	numberInt
	numberDot
	numberFraction
	numberE
	numberSign
	numberExponent
)

// wrong describes the fault of a byte that a state does not take.
var wrong = [...]string{
	wantValue: "no value", wantValueOrEnd: "no value", inLiteral: "no value",
	wantKey: "no key", wantKeyOrEnd: "no key", wantColon: "no colon",
	afterValue: "no comma and no end", numberZero: "no comma and no end", afterAll: "something behind the end",
	inString: "a control character in a string", inKey: "a control character in a string",
	inEscape: "an unknown escape", inHex: "no hexadecimal digit in an escape",
	numberMinus: noDigit, numberInt: noDigit, numberDot: noDigit, numberFraction: noDigit,
	numberE: noDigit, numberSign: noDigit, numberExponent: noDigit,
}

const (
	noDigit      = "no digit in a number"
	endlessSpace = "white space without an end"
)

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// number takes one byte of a number. done reports that the number ended before it, ok is false for a byte that is wrong there.
func number(in state, c byte) (next state, done, ok bool) {
	digit := c >= '0' && c <= '9'
	switch in {
	case numberMinus:
		if c == '0' {
			return numberZero, false, true
		}
		return numberInt, false, digit
	case numberDot:
		return numberFraction, false, digit
	case numberE:
		if c == '+' || c == '-' {
			return numberSign, false, true
		}
		return numberExponent, false, digit
	case numberSign:
		return numberExponent, false, digit
	case numberZero, numberInt:
		if c == '.' {
			return numberDot, false, true
		}
		if digit {
			return in, false, in == numberInt
		}
	case numberFraction, numberExponent:
		if digit {
			return in, false, true
		}
	}
	if (c == 'e' || c == 'E') && in != numberExponent {
		return numberE, false, true
	}
	return in, true, true
}

func hexDigit(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}
