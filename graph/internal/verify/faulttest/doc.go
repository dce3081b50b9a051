// Package faulttest makes each driver call of package graph fail. Afterwards nothing may have
// leaked, and no stream may still be capturing.
package faulttest
