# ci/counts.awk - reads ctest's LastTest.log; prints "passed failed skipped", then each reason of a skip with its count.
# A Criterion program counts each of its tests, any other test counts as one; one that prints "SKIP: reason" is skipped.
/^[0-9]+\/[0-9]+ Test: / {
    synthesis = reasons = missed = absent = 0
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
    if (synthesis) {
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
    print passed + 0, failed + 0, skipped + 0
    for (r in reason)
        printf "%6d  %s\n", reason[r], r
}
