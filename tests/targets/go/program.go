// A Go program with libc in it: its runtime sets handlers by libc, and asks for the alternate stack past it.
//
//	go_program
//
// Truth: goroutines work in Go and in C, on stacks that grow; a signal is heard, a child speaks, a nil pointer is
// recovered from, and the program ends with 3.
package main

/*
#include <stdint.h>
static uint64_t work_in_c(uint64_t rounds) {
	uint64_t state = 1;
	for (uint64_t i = 0; i < rounds; ++i) state = state * 31 + i;
	return state;
}
*/
import "C"

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"
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
func deep(depth int) byte {
	var frame [64]byte
	if depth == 0 {
		return frame[0]
	}
	return deep(depth-1) + frame[depth%64]
}

func main() {
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, syscall.SIGUSR1)
	var done sync.WaitGroup
	for i := 0; i < 20; i++ {
		done.Add(1)
		go func() {
			defer done.Done()
			work(3_000_000)
			deep(10_000)
			C.work_in_c(3_000_000)
			time.Sleep(time.Millisecond)
		}()
	}
	done.Wait()
	syscall.Kill(os.Getpid(), syscall.SIGUSR1)
	fmt.Println(<-heard)
	said, err := exec.Command("/bin/echo", "child").Output()
	fmt.Print(string(said), err, "\n")
	defer func() {
		fmt.Println("recovered:", recover() != nil)
		os.Exit(3)
	}()
	var nothing *int
	*nothing = 1
}
