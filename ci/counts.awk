# ci/counts.awk - reads ctest's LastTest.log; prints "passed failed timed-out skipped", then the names of the tests that
# timed out, then each reason for skipping with its count. Each test of a Criterion program is counted; any other program
# counts as one test. A test that prints "SKIP: reason" is skipped; a program that ci/limit has ended counts once.
/^[0-9]+\/[0-9]+ Test: / {
    synthesis = reasons = missed = absent = over = 0
    name = $3
    output = 1
}
/^Command: ""/ { absent = 1 }
output && /^\[SKIP\] / {
    skipped++
    sub(/^\[SKIP\] [^ ]*: /, "")
    reason[$0]++
}
output && /^SKIP: / {
    reasons++
    sub(/^SKIP: /, "")
    reason[$0]++
}
output && /^TIMED OUT: / {
    over = 1
    names = names " " name
}
output && /Synthesis: Tested: / {
    synthesis = 1
    for (i = 1; i < NF; i++) {
        if ($i == "Passing:")
            passed += $(i + 1)
        if ($i == "Failing:" || $i == "Crashing:")
            missed += $(i + 1)
    }
}
/^<end of output>/ { output = 0 }
!output && /^Test (Passed|Failed)/ {
    if (over)
        late++
    else if (synthesis) {
        passed -= reasons
        skipped += reasons
        failed += missed ? missed : /Failed/
    } else if (absent || /Failed/)
        failed++
    else if (reasons)
        skipped++
    else
        passed++
}
END {
    print passed + 0, failed + 0, late + 0, skipped + 0
    print substr(names, 2)
    for (r in reason)
        printf "%6d  %s\n", reason[r], r
}
