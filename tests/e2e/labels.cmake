# Read by ctest, after the lists of tests: gtest_discover_tests cannot set two labels.
#
# What programs see of sampling, whichever source it is by, CI shows by the two that `auto` mostly takes. By the others it
# has the label "matrix" (scripts/verify matrix). Suites about what a source measures are not among these.
set(by_any_source Control|Delay|ExitWays|Rights|Seccomp|SignalWays|Signals|SmallStacks|Threads|Tool|Unreadable)

function(label_tests labels)
    foreach(test IN LISTS ARGN)
        set(of_test ${labels})
        if(test MATCHES "^e2e\\.(${by_any_source})\\.[^/]*/(perf|timer)( |$)")
            list(APPEND of_test matrix)
        endif()
        set_tests_properties(${test} PROPERTIES LABELS "${of_test}")
    endforeach()
endfunction()

label_tests("e2e" ${e2e_tests_TESTS})
label_tests("e2e;statistical" ${statistical_tests} ${lone_tests})
