import { load } from '../delivery/load-package.ts'

const facts = load<{ name: string; version: string; engines: { node: string } }>('../../package.json')

export const PACKAGE_NAME: string = facts.name
export const PACKAGE_VERSION: string = facts.version
export const NODE_RANGE: string = facts.engines.node
