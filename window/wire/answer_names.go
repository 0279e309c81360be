package wire

// name is a key, or several that mean the same, that an Answer looks for.
type name uint8

const (
	nameUnknown name = iota
	nameElement      // of an array
	nameBlockReason
	nameCacheCreation
	nameCacheWritten
	nameCacheHour
	nameCacheWrites
	nameCacheRead
	nameCachedContent
	nameCachedTokens
	nameCandidates
	nameCandidatesTokens
	nameChoices
	nameContent
	nameDelta
	nameError
	nameFinishReason
	nameFunctionCall
	nameID
	nameIncomplete
	nameInputChanges
	nameInputDetails
	nameInputTokens
	nameItem
	nameMessage
	nameModel
	nameOutput
	nameOutputDetails
	nameOutputTokens
	nameParts
	namePromptFeedback
	nameReason
	nameReasoningTokens
	nameResponse
	nameStatus
	nameStopReason
	nameThoughts
	nameToolCalls
	nameToolPrompt
	nameType
	nameUsage
)

// nameOf returns the name that a key stands for, in any dialect, nameUnknown for other keys; keys that mean the same have one name.
func nameOf(key []byte) name {
	switch string(key) {
	case "usage", "usageMetadata":
		return nameUsage
	case "type":
		return nameType
	case "id", "responseId":
		return nameID
	case "model", "modelVersion":
		return nameModel
	case "response":
		return nameResponse
	case "message":
		return nameMessage
	case "delta":
		return nameDelta
	case "error":
		return nameError
	case "choices":
		return nameChoices
	case "candidates":
		return nameCandidates
	case "content":
		return nameContent
	case "parts":
		return nameParts
	case "output":
		return nameOutput
	case "item":
		return nameItem
	case "tool_calls":
		return nameToolCalls
	case "function_call", "functionCall":
		return nameFunctionCall
	case "status":
		return nameStatus
	case "input_transformations":
		return nameInputChanges
	case "finish_reason", "finishReason":
		return nameFinishReason
	case "stop_reason", "stopReason":
		return nameStopReason
	case "incomplete_details":
		return nameIncomplete
	case "reason":
		return nameReason
	case "promptFeedback":
		return namePromptFeedback
	case "blockReason":
		return nameBlockReason
	case "prompt_tokens", "input_tokens", "promptTokenCount", "inputTokens":
		return nameInputTokens
	case "completion_tokens", "output_tokens", "outputTokens":
		return nameOutputTokens
	case "candidatesTokenCount":
		return nameCandidatesTokens
	case "thoughtsTokenCount":
		return nameThoughts
	case "toolUsePromptTokenCount":
		return nameToolPrompt
	case "cache_read_input_tokens", "prompt_cache_hit_tokens", "cacheReadInputTokens":
		return nameCacheRead
	case "cache_creation_input_tokens", "cacheWriteInputTokens":
		return nameCacheCreation
	case "cache_creation":
		return nameCacheWritten
	case "ephemeral_1h_input_tokens":
		return nameCacheHour
	case "cache_write_tokens":
		return nameCacheWrites
	case "cachedContentTokenCount":
		return nameCachedContent
	case "cached_tokens":
		return nameCachedTokens
	case "prompt_tokens_details", "input_tokens_details":
		return nameInputDetails
	case "completion_tokens_details", "output_tokens_details":
		return nameOutputDetails
	case "reasoning_tokens":
		return nameReasoningTokens
	}
	return nameUnknown
}

// The places where something is said.
const (
	atType        = path(nameType)
	atID          = path(nameID)
	atStartID     = path(nameMessage)<<8 | atID
	atFinalID     = path(nameResponse)<<8 | atID
	atModel       = path(nameModel)
	atStartModel  = path(nameMessage)<<8 | atModel
	atFinalModel  = path(nameResponse)<<8 | atModel
	atError       = path(nameError)
	atFailure     = path(nameResponse)<<8 | path(nameError)
	atChoice      = path(nameChoices)<<8 | path(nameElement)
	atCandidate   = path(nameCandidates)<<8 | path(nameElement)
	atPart        = atCandidate<<24 | path(nameContent)<<16 | path(nameParts)<<8 | path(nameElement)
	atBlock       = path(nameContent)<<8 | path(nameElement)
	atOutputBlock = path(nameOutput)<<24 | path(nameMessage)<<16 | atBlock
	atItem        = path(nameOutput)<<8 | path(nameElement)
	atFinalItem   = path(nameResponse)<<16 | atItem
	atUsage       = path(nameUsage)
	atStartUsage  = path(nameMessage)<<8 | path(nameUsage)
	atFinalUsage  = path(nameResponse)<<8 | path(nameUsage)
	atChoiceUsage = atChoice<<8 | path(nameUsage) // Kimi
	atStatus      = path(nameStatus)
	atFinalStatus = path(nameResponse)<<8 | path(nameStatus)
	atIncomplete  = path(nameIncomplete)<<8 | path(nameReason)
	atFinalReason = path(nameResponse)<<16 | path(nameIncomplete)<<8 | path(nameReason)
	atStop        = path(nameStopReason)
	atDeltaStop   = path(nameDelta)<<8 | path(nameStopReason)
	atFinish      = atChoice<<8 | path(nameFinishReason)
	atCandFinish  = atCandidate<<8 | path(nameFinishReason)
	atBlocked     = path(namePromptFeedback)<<8 | path(nameBlockReason)

	// Where a tool is called: in a part of Gemini's, in a message or a delta of Chat's, and where the type of an item of Responses stands.
	atPartCall  = atPart<<8 | path(nameFunctionCall)
	atChatCall  = atChoice<<24 | path(nameMessage)<<16 | path(nameToolCalls)<<8 | path(nameElement)
	atDeltaCall = atChoice<<24 | path(nameDelta)<<16 | path(nameToolCalls)<<8 | path(nameElement)
	atItemType  = atItem<<8 | path(nameType)
	atFinalType = atFinalItem<<8 | path(nameType)
	atEventType = path(nameItem)<<8 | path(nameType)

	atChanges      = path(nameInputChanges)
	atStartChanges = path(nameMessage)<<8 | atChanges
	atFinalChanges = path(nameResponse)<<8 | atChanges
)

// opened is called at the beginning of an object or array. By its place it sets whether content has begun, a tool was called, or the answer
// is an error.
func (a *Answer) opened(at path) {
	switch at {
	case atError, atFailure:
		a.failed = true
	case atChoice, atPart, atItem, atFinalItem:
		a.Begun = true
	case atPartCall, atChatCall, atDeltaCall:
		a.Calls = true
	case atBlock:
		a.Begun = a.Begun || a.rules.blocks
	case atOutputBlock:
		a.Begun = a.Begun || a.rules.output
	case atChanges, atStartChanges, atFinalChanges:
		a.Changes, a.change = a.Changes[:0], Change{}
	default:
		if name(at&0xff) == nameElement && (at >> 8).changes() {
			a.addChange()
			a.change.Count = 1
		}
	}
}

func (p path) changes() bool { return p == atChanges || p == atStartChanges || p == atFinalChanges }

// value is called with each string, without its quotes and with its escapes, and each number or literal (text is false). It stores those
// that have a known place.
func (a *Answer) value(at path, v []byte, text bool) {
	switch at {
	case nowhere, 0:
	case atType:
		if text {
			a.event(v)
		}
	case atID, atStartID, atFinalID:
		if text && a.ID == "" && len(v) < maxWord {
			a.ID = string(v)
		}
	case atModel, atStartModel, atFinalModel:
		if text && a.Model == "" && len(v) < maxWord {
			a.Model = string(v)
		}
	case atError, atFailure:
		a.failed = a.failed || text
	case atStatus, atFinalStatus:
		if text && a.rules.statuses && string(v) != "in_progress" && string(v) != "queued" && !a.reason {
			a.StopReason = string(v)
		}
	case atItemType, atFinalType, atEventType:
		a.Calls = a.Calls || text && a.rules.calls != nil && a.rules.calls(string(v))
	case atIncomplete, atFinalReason:
		if text {
			a.StopReason, a.reason = string(v), true
		}
	case atStop, atDeltaStop, atFinish, atCandFinish, atBlocked:
		if text {
			a.StopReason = string(v)
			a.last = a.last || at == atFinish || at == atCandFinish || at == atBlocked
		}
	default:
		switch {
		case !text:
			a.count(at, v)
		case a.change.Count > 0 && (at >> 16).changes():
			switch name(at & 0xff) {
			case nameType:
				a.change.What = string(v)
			case nameReason:
				a.change.Reason = string(v)
			}
		}
	}
}

// answerRules describe what is special about a dialect's answers.
type answerRules struct {
	blocks      bool                   // the answer has its content as a list at the top
	output      bool                   // the answer has its content in a message in output
	statuses    bool                   // a status may be the stop reason
	cacheBeside bool                   // the input count leaves out what was read from or written to the cache
	calls       func(kind string) bool // an item of this type calls a tool of the client; nil where items have no types
	event       func(*Answer, []byte)  // called with the type of an event; may be nil
}

// event is called with the type of an event (or, without a stream, of the whole answer).
func (a *Answer) event(v []byte) {
	if string(v) == "error" {
		a.failed = true
		return
	}
	if a.rules.event != nil {
		a.rules.event(a, v)
	}
}

// reported holds the newest token counts that a provider reported for an answer.
type reported struct {
	input, tools, read, write, hour, output, thoughts, reasoning int
	start                                                        bool // message_start had the count of the input
}

// count is called with a number in the usage, and updates Usage. A number that is not of 1 to 12 digits alone is ignored.
func (a *Answer) count(at path, v []byte) {
	n := 0
	if len(v) == 0 || len(v) > 12 {
		return
	}
	for _, c := range v {
		if c < '0' || c > '9' {
			return
		}
		n = n*10 + int(c-'0')
	}
	s := &a.reported
	up, key := at>>8, name(at&0xff)
	if up.usage() {
		// A message_delta repeats the input, or sums it up over the turns that tools of the
		// provider took; the length of this input is what message_start says. Some say 0
		// there.
		switch key {
		case nameOutputTokens, nameCandidatesTokens:
			s.output = n
			a.Counted = a.Counted || up != atStartUsage
		case nameThoughts:
			s.thoughts = n
		default:
			if up == atUsage && s.start {
				return
			}
			s.start = s.start || up == atStartUsage && n > 0
			s.setInput(key, n)
		}
	} else if (up >> 8).usage() {
		switch {
		case name(up&0xff) == nameInputDetails && key == nameCachedTokens:
			s.read = n
		case name(up&0xff) == nameInputDetails && key == nameCacheWrites: // OpenRouter
			s.write = n
		case name(up&0xff) == nameCacheWritten && key == nameCacheHour:
			s.hour = n
		case name(up&0xff) == nameOutputDetails && key == nameReasoningTokens:
			s.reasoning = n
		}
	} else {
		return
	}
	a.Usage = Usage{Input: s.input + s.tools, Output: s.output + s.thoughts, CacheRead: s.read, CacheWrite: s.write, CacheHour: min(s.hour, s.write), Reasoning: s.reasoning + s.thoughts}
	if a.rules.cacheBeside {
		a.Usage.Input += s.read + s.write
	}
}

// usage reports whether p is the path of an object with the usage.
func (p path) usage() bool {
	return p == atUsage || p == atStartUsage || p == atFinalUsage || p == atChoiceUsage
}

// setInput stores one of the parts of the input count.
func (s *reported) setInput(key name, n int) {
	switch key {
	case nameInputTokens:
		s.input = n
	case nameToolPrompt:
		s.tools = n
	case nameCacheRead, nameCachedContent:
		s.read = n
	case nameCacheCreation:
		s.write = n
	}
}
