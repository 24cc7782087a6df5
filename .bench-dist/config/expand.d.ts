import type { Environment } from './paths.ts';
import { type Plain } from './plain.ts';
/** `${VAR}` and `${VAR:-default}` in every string of a file. A variable without a value makes the string unusable. */
export declare function expandVariables(value: Plain, env: Environment): Plain;
/** Whether a secret in this string is held by the file itself, not by a variable. */
export declare function isLiteral(text: string): boolean;
