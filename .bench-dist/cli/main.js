#!/usr/bin/env node
import { dispatch } from './dispatch.js';
import { processIo } from './process-io.js';
// Not process.exit: it would cut off what stdout, a pipe, has not taken yet.
const exitCode = await dispatch(process.argv.slice(2), processIo());
process.exitCode ||= exitCode;
