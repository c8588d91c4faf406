(component
  %imports
  (core module $guest
    %core-imports
    (memory (export "memory") 1)
    (data (i32.const 16) "\40\00\00\00\05\00\00\00\50\00\00\00\03\00\00\00\60\00\00\00\00\00\00\00")
    (data (i32.const 64) "probe")
    (data (i32.const 80) "1.0")
    (func $describe (export "describe") (result i32) %describe i32.const 16)
    (func (export "run") (param i32 i32 i32 i32) (result i32) %run)
    (func (export "realloc") (param i32 i32 i32 i32) (result i32) i32.const 1024))
  (core instance $guest (instantiate $guest %with))
  (type $description (record (field "language" string) (field "version" string) (field "summary" string)))
  (type $ending (variant (case "exited" s32) (case "failed" (tuple string string)) (case "malformed" string)))
  (func $describe (result $description)
    (canon lift (core func $guest "describe") (memory (core memory $guest "memory")) (realloc (core func $guest "realloc"))))
  (func $run (param "program" (list u8)) (param "arguments" (list string)) (result $ending)
    (canon lift (core func $guest "run") (memory (core memory $guest "memory")) (realloc (core func $guest "realloc"))))
  (component $shape
    (type $d (record (field "language" string) (field "version" string) (field "summary" string)))
    (import "description" (type $description (eq $d)))
    (type $e (variant (case "exited" s32) (case "failed" (tuple string string)) (case "malformed" string)))
    (import "ending" (type $ending (eq $e)))
    (import "describe" (func $describe (result $description)))
    (import "run" (func $run (param "program" (list u8)) (param "arguments" (list string)) (result $ending)))
    (export $dx "description" (type $d))
    (export $ex "ending" (type $e))
    (export "describe" (func $describe) (func (result $dx)))
    (export "run" (func $run) (func (param "program" (list u8)) (param "arguments" (list string)) (result $ex))))
  (instance $interpreter (instantiate $shape
    (with "description" (type $description)) (with "ending" (type $ending))
    (with "describe" (func $describe)) (with "run" (func $run))))
  (export "troupe:plugin/interpreter@0.2.0" (instance $interpreter)))
