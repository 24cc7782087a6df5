import { register } from 'node:module'

// What an application in ESM starts with: without it nothing that is imported can be instrumented.
register('@opentelemetry/instrumentation/hook.mjs', import.meta.url)
