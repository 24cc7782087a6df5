import { type SecretFamily } from './secret-span.ts';
export declare const ASSIGNMENTS: SecretFamily;
