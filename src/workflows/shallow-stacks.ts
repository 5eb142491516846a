/**
 * For the prebuilt bundle only, whose code is all Everlap's own. The SDK keeps a stack trace of each promise that is open, for
 * the query `__stack_trace`: at ten frames they take more time and memory than the run itself.
 */
Error.stackTraceLimit = 4;
