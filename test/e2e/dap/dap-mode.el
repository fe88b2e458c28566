;;; dap-mode.el --- open a core file in Emacs -*- lexical-binding: t; -*-

;; Run by dap_test.go with SFCORE, CORE and PROGRAMS (a directory) set. It
;; prints the stack that dap-mode shows.

(require 'dap-mode)
(setq dap-auto-configure-features nil
      dap-auto-show-output nil
      lsp-session-file (make-temp-file "lsp")
      dap-breakpoints-file (make-temp-file "dap")
      lsp-keep-workspace-alive nil)

;; As in docs/editors.md.
(dap-register-debug-provider
 "sfcore"
 (lambda (conf) (plist-put conf :dap-server-path (list (getenv "SFCORE") "dap"))))

(defvar sfcore-frames nil "The frames that dap-mode has for the selected thread.")
(add-hook 'dap-stack-frame-changed-hook
          (lambda (session)
            (setq sfcore-frames
                  (gethash (dap--debug-session-thread-id session)
                           (dap--debug-session-thread-stack-frames session)))))

(dap-debug (list :type "sfcore" :request "attach" :name "core"
                 :coreFile (getenv "CORE") :paths (vector (getenv "PROGRAMS"))))

(let ((end (+ (float-time) 30)))
  (while (and (null sfcore-frames) (< (float-time) end))
    (accept-process-output nil 0.1)))
(dolist (frame (append sfcore-frames nil))
  (message "frame: %s %s" (gethash "instructionPointerReference" frame) (gethash "name" frame)))
(kill-emacs (if sfcore-frames 0 1))
