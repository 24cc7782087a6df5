import { createRequire } from 'node:module';
const facts = createRequire(import.meta.url)('../../package.json');
export const PACKAGE_NAME = facts.name;
export const PACKAGE_VERSION = facts.version;
