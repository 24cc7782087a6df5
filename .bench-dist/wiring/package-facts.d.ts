export declare const PACKAGE_NAME: string;
export declare const PACKAGE_VERSION: string;
