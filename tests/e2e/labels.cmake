# Read by ctest, after the lists of tests: gtest_discover_tests cannot set two labels.
set_tests_properties(${statistical_tests} ${lone_tests} PROPERTIES LABELS "e2e;statistical")
