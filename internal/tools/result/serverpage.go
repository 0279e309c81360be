package result

import (
	"strconv"
	"strings"

	"github.com/plimsoll/plimsoll/internal/jsonstream"
	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/limit"
)

// pageArguments are the names of arguments by which servers are asked for a page of their own, folded by foldName. Those for the page size
// or the first page count too: a call that asks for 100 a page gets a page.
var pageArguments = map[string]bool{
	"page": true, "pagenumber": true, "pageindex": true, "perpage": true, "pagesize": true, "limit": true, "maxresults": true, "maxitems": true,
	"offset": true, "skip": true, "startat": true, "start": true, "top": true, "first": true, "after": true, "before": true,
	"cursor": true, "nextcursor": true, "pagetoken": true, "nexttoken": true, "nextpagetoken": true, "continue": true, "continuetoken": true,
	"continuationtoken": true, "pagecursor": true, "marker": true, "skiptoken": true, "startingafter": true, "endingbefore": true,
	"maxkeys": true, "maxrecords": true, "pagelen": true, "pagelength": true, "hitsperpage": true, "resultsperpage": true, "itemsperpage": true,
	"resultoffset": true, "resultrecordcount": true,
}

// pageResults are the names by which servers say that there is more than this page, folded; saysLast those that say it by false.
var (
	// pageResults are the names of members by which servers say that there is more than this page, folded; saysLast those that say so by
	// false.
	pageResults = map[string]bool{
		"next": true, "nextcursor": true, "nextpage": true, "nextpagetoken": true, "nexttoken": true, "nextlink": true, "nexturl": true, "cursor": true,
		"hasmore": true, "hasnext": true, "hasnextpage": true, "more": true, "continue": true, "continuetoken": true,
		"nextoffset": true, "nextstart": true, "nextmarker": true, "nextcontinuationtoken": true, "continuationtoken": true, "lastevaluatedkey": true,
		"@odatanextlink": true, "odatanextlink": true, "scrollid": true, "istruncated": true, "truncated": true, "incompleteresults": true,
		"nextpageurl": true, "nextpageuri": true, "nextpagelink": true, "nextpagenumber": true, "nextpagecursor": true, "nextpageid": true,
		"nexthref": true, "nextkey": true, "nextcursormark": true, "nextrecordsurl": true, "nextskip": true, "aftercursor": true, "lastkey": true,
		"hasmoreitems": true, "hasmoreresults": true, "hasmorepages": true, "moreresults": true, "moreavailable": true, "moreresultsavailable": true,
		"morerecords": true, "moreitems": true, "resultstruncated": true, "limitreached": true, "limithit": true, "exceededtransferlimit": true,
	}
	saysLast = map[string]bool{"islast": true, "islastpage": true}
	// placesOfNext are the members of an object named "next" that say where the next page is, folded: an address, or what asks for it.
	placesOfNext = map[string]bool{
		"href": true, "url": true, "uri": true, "link": true, "path": true, "after": true, "cursor": true, "offset": true, "page": true, "token": true,
	}
	// pagingObjects are the names of objects in which "after" is the cursor of the next page, folded; elsewhere it may be a date.
	pagingObjects = map[string]bool{"page": true, "paging": true, "pagination": true}
)

// totalResults are the names of members with the number of all items, folded; lastPages and pageNumbers those with the number of the last
// page and of this one.
var (
	totalResults = map[string]bool{
		"total": true, "totalcount": true, "totalresults": true, "totalitems": true, "totalrecords": true, "totalhits": true, "totalelements": true,
		"totalrows": true, "totalentries": true, "totalmatches": true, "count": true, "numfound": true, "resultcount": true, "@odatacount": true,
		"totalsize": true, "nbhits": true, "estimatedtotalhits": true, "totalitemcount": true, "totalresultcount": true, "totalcountofitems": true,
	}
	lastPages   = map[string]bool{"pages": true, "totalpages": true, "lastpage": true, "pagecount": true, "numpages": true, "nbpages": true}
	pageNumbers = map[string]bool{"page": true, "currentpage": true, "pagenumber": true, "current": true}
)

// foldName returns a name in lower case without "_", "-", "." and "$".
func foldName(name string) string {
	return strings.NewReplacer("_", "", "-", "", ".", "", "$", "").Replace(strings.ToLower(name))
}

// maxShownArgument bounds an argument's value in what ServerPage returns, in bytes: a cursor may be long, and says nothing to a reader.
const maxShownArgument = 24

// ServerPage returns the arguments of a call that ask for one of the server's own pages, as in "page=2, per_page=100"; "" if there are none
// or arguments is not a JSON object.
func ServerPage(arguments []byte) string {
	var b strings.Builder
	for m, err := range rawjson.Members(arguments, 0) {
		if err != nil {
			return ""
		}
		name, value := string(m.Key), m.Value.Of(arguments)
		if len(name) > 32 || !pageArguments[foldName(name)] || len(value) == 0 || value[0] == '{' || value[0] == '[' || string(value) == "null" {
			continue
		}
		text := string(value)
		if text[0] == '"' {
			text = string(rawjson.Unquote(nil, value))
		}
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		b.WriteString(name + "=" + limit.Short(strings.Map(printable, text), maxShownArgument))
	}
	return limit.Clip(b.String(), 100)
}

func printable(r rune) rune {
	if r < ' ' || r == 0x7f {
		return -1
	}
	return r
}

// maxEnvelopeKeys bounds the depth of the objects around a list in which a server's own paging members are searched: as deep as lists are
// found.
const maxEnvelopeKeys = jsonstream.MaxKeys

// serverHasMore reports whether a page of a kept JSON document, which has that many items, says by another member that the server has more.
// It is false for a page that is not an object.
func serverHasMore(page []byte, items int64) bool {
	if len(page) == 0 || page[0] != '{' {
		return false
	}
	return hasPagingMember(page, 0, maxEnvelopeKeys, items)
}

// hasPagingMember reports whether a member of the object at doc[at:] says that the server has more than items items. It also looks into
// nested objects ("pagination", "meta", "pageInfo"), depth levels deep with this one.
func hasPagingMember(doc []byte, at, depth int, items int64) bool {
	var lastPage, pageNumber int64
	for m, err := range rawjson.Members(doc, at) {
		if err != nil {
			return false
		}
		value, name := m.Value.Of(doc), foldName(string(m.Key))
		if len(value) == 0 {
			return false
		}
		if value[0] == '{' {
			inner := m.Value.Start
			switch {
			case name == "next" && namesPlace(value), // HAL, HubSpot
				pageResults[name] && name != "next" && !isEmptyObject(value): // DynamoDB's LastEvaluatedKey
				return true
			case pagingObjects[name] && !isLastPage(rawjson.Get(value, "after").Of(value)): // Datadog
				return true
			case totalResults[name] && number(rawjson.Get(value, "value").Of(value)) > items: // Elasticsearch
				return true
			case depth > 1 && hasPagingMember(doc, inner, depth-1, items):
				return true
			}
			continue
		}
		n := number(value)
		switch {
		case totalResults[name] && n > items:
			return true
		case lastPages[name]:
			lastPage = n
		case pageNumbers[name]:
			pageNumber = n
		case saysLast[name] && string(value) == "false":
			return true
		case pageResults[name] && !isLastPage(value):
			return true
		}
	}
	return pageNumber > 0 && lastPage > pageNumber
}

// isLastPage reports whether the value of one of pageResults says that there is no further page; nil is no value.
func isLastPage(value []byte) bool {
	switch string(value) {
	case "", "null", `""`, "0", "false":
		return true
	}
	return value[0] == '['
}

// namesPlace reports whether an object named "next" says where the next page is.
func namesPlace(next []byte) bool {
	for m, err := range rawjson.Members(next, 0) {
		if err != nil {
			return false
		}
		if placesOfNext[foldName(string(m.Key))] && !isLastPage(m.Value.Of(next)) {
			return true
		}
	}
	return false
}

// isEmptyObject reports whether a JSON object has no members.
func isEmptyObject(value []byte) bool {
	for range rawjson.Members(value, 0) {
		return false
	}
	return true
}

// number returns a whole number, also one in a string; 0 for anything else.
func number(value []byte) int64 {
	n, err := strconv.ParseInt(strings.Trim(string(value), `"`), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
