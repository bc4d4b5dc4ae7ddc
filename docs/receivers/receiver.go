// A webhook receiver in Go (1.21 or newer) without dependencies.
//
//	WEBHOOK_KEY=whsec_... PORT=9000 go run receiver.go
//
// WEBHOOK_KEY is the signing_secret (whsec_...) or, of a webhook with "signature": "v1a", its public_key (whpk_...).
package main

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	tolerance = 300 // seconds, both ways
	largest   = 1 << 20
)

// fits takes one entry of webhook-signature: "v1,BASE64" or "v1a,BASE64".
func fits(key string, content []byte, entry string) bool {
	version, encoded, _ := strings.Cut(entry, ",")
	signature, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return false
	}
	kind, rest, _ := strings.Cut(key, "_")
	raw, err := base64.StdEncoding.DecodeString(rest)
	if err != nil {
		return false
	}
	switch {
	case version == "v1" && kind == "whsec":
		mac := hmac.New(sha256.New, raw)
		mac.Write(content)
		return hmac.Equal(signature, mac.Sum(nil))
	case version == "v1a" && kind == "whpk" && len(raw) == ed25519.PublicKeySize:
		return ed25519.Verify(raw, content, signature)
	}
	return false
}

// isGenuine takes the body as received: a body that was decoded and encoded again may be another one.
func isGenuine(key string, headers http.Header, body []byte, now time.Time) bool {
	id, timestamp := headers.Get("webhook-id"), headers.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if id == "" || err != nil || now.Unix()-seconds > tolerance || seconds-now.Unix() > tolerance {
		return false
	}
	content := append([]byte(id+"."+timestamp+"."), body...)
	for _, entry := range strings.Split(headers.Get("webhook-signature"), " ") {
		if fits(key, content, entry) {
			return true
		}
	}
	return false
}

func main() {
	key := os.Getenv("WEBHOOK_KEY")
	if !strings.HasPrefix(key, "whsec_") && !strings.HasPrefix(key, "whpk_") {
		log.Fatal("Set WEBHOOK_KEY to the whsec_... or whpk_... of the webhook.")
	}
	var mutex sync.Mutex
	seen := map[string]bool{} // in real life a table with a unique column: ids must outlive a restart
	http.HandleFunc("/", func(writer http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(writer, request.Body, largest))
		if err != nil {
			writer.WriteHeader(http.StatusRequestEntityTooLarge)
			return
		}
		if !isGenuine(key, request.Header, body, time.Now()) {
			writer.WriteHeader(http.StatusUnauthorized)
			return
		}
		writer.WriteHeader(http.StatusNoContent) // only a 2xx within 15 seconds counts: do long work elsewhere
		id := request.Header.Get("webhook-id")
		mutex.Lock()
		defer mutex.Unlock()
		if seen[id] {
			return
		}
		seen[id] = true
		var event struct{ Type string }
		if json.Unmarshal(body, &event) == nil {
			fmt.Println(id, event.Type)
		}
	})
	port := os.Getenv("PORT")
	if port == "" {
		port = "9000"
	}
	listener, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("listening on http://%s\n", listener.Addr())
	log.Fatal(http.Serve(listener, nil))
}
