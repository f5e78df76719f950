// Goroutines that compute, and the first one, too.
//
//	goroutines ROUNDS
//
// Truth: nearly all work is done in work(), below outer(), below main() or its function in a goroutine.
package main

import "C" // loads libraries, so that the agent can be one

import (
	"fmt"
	"os"
	"strconv"
	"sync"
)

//go:noinline
func work(rounds uint64) uint64 {
	state := uint64(1)
	for i := uint64(0); i < rounds; i++ {
		state = state*31 + i
	}
	return state
}

//go:noinline
func outer(rounds int) uint64 {
	sum := uint64(0)
	for i := 0; i < rounds; i++ {
		sum += work(1_000_000)
	}
	return sum
}

func main() {
	rounds, _ := strconv.Atoi(os.Args[1])
	var done sync.WaitGroup
	for i := 0; i < 4; i++ {
		done.Add(1)
		go func() {
			defer done.Done()
			outer(rounds)
		}()
	}
	sum := outer(rounds)
	done.Wait()
	fmt.Println(sum)
}
