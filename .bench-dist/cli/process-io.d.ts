import type { CommandIo } from './command.ts';
/** The real process as a command sees it. */
export declare function processIo(): CommandIo;
