// Go in a program that is not: go_host.c loads it.
package main

import "C"

import (
	"fmt"
	"runtime"
	"sync"
)

//export WorkInGo
func WorkInGo(rounds uint64) uint64 {
	var done sync.WaitGroup
	sums := make([]uint64, 8)
	for i := range sums {
		done.Add(1)
		go func(i int) {
			defer done.Done()
			for k := uint64(0); k < rounds; k++ {
				sums[i] = sums[i]*31 + k
			}
			runtime.GC()
		}(i)
	}
	done.Wait()
	func() {
		defer func() { fmt.Println("recovered:", recover() != nil) }()
		var nothing *uint64
		*nothing = 1
	}()
	return sums[0]
}

func main() {}
